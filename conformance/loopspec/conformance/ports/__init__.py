"""The port protocol: subjects that are processes, in any language.

`messages` is the protocol, `child` and `keeper` hold a process, `serving` is its other end.
"""
