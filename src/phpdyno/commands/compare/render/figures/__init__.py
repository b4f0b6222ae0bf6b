"""The plots of a comparison, as plotly.js takes them. Pure."""
