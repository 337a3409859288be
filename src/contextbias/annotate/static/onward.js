// Pages to read: Enter goes on. Without a scroll, so that they are read from the top.
"use strict";

document.querySelector("a.main")?.focus({ preventScroll: true });
