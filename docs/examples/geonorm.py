"""GeoNorm from Python: geonorm.py LIBRARY, where LIBRARY is .../lib/libnormlab_torch.so."""
import sys

import torch
torch.ops.load_library(sys.argv[1] if sys.argv[1:] else sys.exit(__doc__))
x, v = torch.randn(4, 768), torch.randn(4, 768, requires_grad=True)
y = torch.ops.normlab.geonorm(x, v, 0.5)  # a step of 0.5·v, along the sphere on which x lies
y.square().sum().backward()
torch.testing.assert_close(y.norm(dim=-1), x.norm(dim=-1))  # |y| = |x|, whatever v is
torch.testing.assert_close(v.grad, torch.zeros(4, 768), atol=1e-4, rtol=0)
