"""What `gate new` writes: a check, its incident and its test, from templates that lie here as files.

A placeholder is a `$name` of `string.Template`. Each template is a whole and working module once they are filled in.
"""
