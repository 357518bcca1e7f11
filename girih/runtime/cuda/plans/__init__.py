"""What machine code knows of launches like earlier ones (docs/design/cuda.md, "Launches").

`exchange`        how arrays tell about themselves, and what they told
`parameters`      the words by which machine code takes one argument
`cuda_entry.ll`   the machine code
"""
