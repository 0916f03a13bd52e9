"""Importing the package and running its kernels changes nothing in the host process."""

from __future__ import annotations

import json

from properties import fresh_python

# What a library could change in its host, read before and after. Allocator settings cannot be
# read, so every C library that is opened is asked whether `mallopt` was called.
PROGRAM = """
import ctypes, importlib, json, locale, logging, os, pkgutil, random, signal, sys, threading

called = []
real = ctypes.CDLL.__getattr__
def noted(self, name):
    if name in ("mallopt", "malloc_trim", "setenv"):
        called.append(name)
    return real(self, name)
ctypes.CDLL.__getattr__ = noted

import numpy as np
import numba, sklearn, torch  # sklearn sets two environment variables of its own

def state():
    return {
        "environment": sorted(os.environ.items()),
        "signals": [str(signal.getsignal(number)) for number in signal.valid_signals()],
        "hooks": [str(sys.excepthook), str(threading.excepthook)],
        "handlers": [str(handler) for handler in logging.getLogger().handlers],
        "level": logging.getLogger().level,
        "locale": locale.setlocale(locale.LC_ALL),
        "threads": [torch.get_num_threads(), torch.get_num_interop_threads()],
        "torch random": torch.get_rng_state().sum().item(),
        "numpy random": int(np.random.get_state()[1].sum()),
        "random": hash(random.getstate()),
        "numpy errors": np.geterr(),
        "torch": [str(torch.get_default_dtype()), torch.are_deterministic_algorithms_enabled(),
                  torch.is_grad_enabled(), torch.get_float32_matmul_precision()],
        "folder": os.getcwd(),
    }

before = state()
import agnn
for module in pkgutil.walk_packages(agnn.__path__, "agnn."):
    if "triton" in module.name or "_gpu" in module.name or module.name == "agnn.__main__":
        continue
    try:
        importlib.import_module(module.name)
    except Exception as error:  # an extra that is not installed
        if type(error).__name__ not in ("UnavailableError", "ModuleNotFoundError"):
            raise
from agnn.kernels import self_check
faults = [check for check in self_check() if check.fault is not None]
after = state()
changed = {name: [before[name], after[name]] for name in before if before[name] != after[name]}
if "environment" in changed:  # the whole is long, and not for a log
    changed["environment"] = sorted(set(after["environment"]) ^ set(before["environment"]))
print(json.dumps([called, changed, len(faults)]))
"""


def test_importing_every_module_and_running_every_kernel_leaves_the_process_as_it_was():
    called, changed, faults = json.loads(fresh_python(PROGRAM).splitlines()[-1])
    assert called == []
    assert changed == {}
    assert faults == 0
