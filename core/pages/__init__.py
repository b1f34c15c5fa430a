"""Pages and pictures of numbers over time, for people: SVG, HTML, and lines of text for a terminal. Knows no jobs.

``panels`` says what is drawn, ``pictures`` draws it (matplotlib), ``page`` puts pictures into one self-contained page
(Jinja2), ``sparks`` draws it as text. Names of users may have any characters: each of these escapes them in its way.
"""
