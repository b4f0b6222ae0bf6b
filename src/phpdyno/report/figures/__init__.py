"""The plots of the page as plotly figures: plain data, drawn by plotly.js in the reader's browser. Pure.

Colours are names of CSS variables (`var(--ink)`), which the page replaces, so that a figure is right in dark, in light and on paper. Text
from outside is escaped here, because plotly.js reads a few HTML tags in its labels.
"""
