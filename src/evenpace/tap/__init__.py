"""The tap: sees every collective of a worker from inside, without touching the training code.

Standard library and one small native part. It fails open: whatever goes wrong in here, training goes on.
"""
