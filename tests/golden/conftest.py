"""Threads: the tests start trainers two at a time, so each process gets one."""

import torch

torch.set_num_threads(1)
