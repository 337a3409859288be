"""What every vision-language model is asked about a picture, and how its answer is taken.

The parts that do not depend on where the model runs: the words (`instructions`), the picture as it
is sent (`pictures`), the answer as a record (`answers`), and what is kept of it (`kept`).
"""
