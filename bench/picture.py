"""Draws what bench/run measured, as SVG: bars for the time that each wrapper adds to
the start of a command, and for what is left of a tree that it was told to stop.

The picture fits light and dark pages: its colours follow the reader's choice, and it
has a background of its own, since not every page follows that choice. It uses no fonts
or files from elsewhere.
"""
from xml.sax.saxutils import escape

HEAD = '''\
<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{height}" viewBox="0 0 760 {height}" role="img" aria-labelledby="title machine">
<title id="title">What wdrun costs, and what survives a stop, beside its peers</title>
<desc>Bars: what each wrapper adds to the start of a command, and how many processes of a tree in sessions of their own are alive after it was told to stop.</desc>
<style>
text {{ font: 13px system-ui, sans-serif; fill: #1f2328 }}
.title {{ font-size: 17px; font-weight: 600 }}
.small {{ font-size: 12px; fill: #59636e }}
.ground {{ fill: #fff; stroke: #d1d9e0 }}
.own {{ fill: #0969da }}
.peer {{ fill: #8c959f }}
.left {{ fill: #cf222e }}
.strong {{ font-weight: 600 }}
.name {{ text-anchor: end }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #f0f6fc }}
.small {{ fill: #9198a1 }}
.ground {{ fill: #0d1117; stroke: #3d444d }}
.own {{ fill: #4493f8 }}
.peer {{ fill: #656c76 }}
.left {{ fill: #f85149 }}
}}
</style>
<rect class="ground" x=".5" y=".5" width="759" height="{ground}" rx="6"/>
<text class="title" x="20" y="33">What wdrun costs, and what survives a stop</text>
<text class="small" x="110" y="62">added to the start of a command, µs</text>
<text class="small" x="450" y="62">alive after a stop, of {tree} sessions</text>
'''


def bar(css, x, y, figure, most, strong):
    """A bar, and its figure."""
    width = 230 * figure / most
    lines = []
    if width > 0:
        lines = [f'<rect class="{css}" x="{x}" y="{y}" width="{width:.1f}" height="16" rx="2"/>']
    return [*lines, f'<text{strong} x="{x + width + 6:.1f}" y="{y + 13}">{figure:.0f}</text>']


def drawn(machine, tree, figures):
    """MACHINE is a line that says where and how it was measured. FIGURES has NAME,
    MICROSECONDS and LEFT for each wrapper, from top to bottom in this order, where
    LEFT of TREE processes are alive after the stop."""
    height = 52 + 24 * (len(figures) + 1) + 36
    most = max(start for _, start, _ in figures)
    lines = []
    for i, (name, start, left) in enumerate(figures, 1):
        y = 52 + 24 * i
        is_own = name == 'wdrun'
        strong = ' class="strong"' if is_own else ''
        lines.append(f'<text class="name{" strong" if is_own else ""}" x="100" '
                     f'y="{y + 13}">{name}</text>')
        lines += bar('own' if is_own else 'peer', 110, y, start, most, strong)
        lines += bar('left', 450, y, left, tree, strong)
    fit = ' textLength="720" lengthAdjust="spacingAndGlyphs"' if len(machine) > 115 else ''
    lines.append(f'<text id="machine" class="small" x="20" y="{height - 18}"{fit}>'
                 f'{escape(machine)}</text>\n</svg>\n')
    head = HEAD.format(height=height, ground=height - 1, tree=tree)
    return head + '\n'.join(lines)
