"""`quench gate` and `quench compare`: whether a quantized model keeps a budget, and how far two models are apart.

The program measures both on the same items (cli/gate.cpp) and hands the records over; here they are judged. judge.py has the
statistics, looks.py what was asked before, overlap.py what calibration and validation text share.
"""
