"""Ask people about a study's images: who sees what, the web page, simulated people, export."""
