from .quick_numba import import_numba

import_numba()  # before any of the modules here does
