"""What all executors have to say and to do alike, said once: the words of findings, the types that sums are kept in.

An executor that says or does it otherwise is wrong; so it asks here.
"""
