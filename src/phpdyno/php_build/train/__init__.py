"""The profile: an app's traffic through instrumented servers, and programs laid out by what it
counted."""
