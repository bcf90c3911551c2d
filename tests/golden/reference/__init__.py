"""An independent PyTorch implementation of every model that normlab trains.

Written from docs/science.md alone and never from the C++: plain modules whose backward passes are
all autograd's. What it computes is what the trainer must compute.
"""
