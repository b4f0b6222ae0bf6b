"""What a text from a file or a socket raises that is not the JSON it should be."""

import msgspec

NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError)
"""Both: to msgspec, bytes within a string that are not UTF-8 are no fault of decoding."""
