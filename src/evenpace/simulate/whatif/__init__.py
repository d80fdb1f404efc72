"""What-if analysis of a trace: how long its steps would be if some operations had taken what others took.

Source: Understanding Stragglers in Large Model Training Using What-if Analysis, OSDI'25 (arXiv 2505.05713).
"""
