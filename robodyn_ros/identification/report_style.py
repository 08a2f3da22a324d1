"""How the report looks."""

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 0 auto;
       padding: 0 1.5rem 3rem; color: #1f2933; background: #fff; }
header { margin: 2rem 0; }
h1 { font-size: 1.9rem; margin: 0 0 1rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; border-bottom: 2px solid #e4e7eb; }
h3 { font-size: 1rem; margin: 0 0 .3rem; }
p { max-width: 55rem; color: #52606d; }
dl { display: flex; flex-wrap: wrap; gap: .8rem; margin: 0; }
dl div { background: #f5f7fa; border-radius: .5rem; padding: .5rem 1.1rem; }
dt { font-size: .8rem; color: #52606d; }
dd { margin: 0; font-size: 1.15rem; font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #e4e7eb; }
thead th { font-size: .85rem; color: #52606d; font-weight: 600; vertical-align: bottom; }
th:first-child, th + th { text-align: left; }
thead th + th { text-align: right; }
tbody th { font-weight: 500; vertical-align: top; }
td { white-space: nowrap; }
.bar { background: linear-gradient(to right, #cfe2f5 var(--share), transparent var(--share)); }
.tag { font-size: .75rem; padding: .05rem .5rem; border-radius: 1rem; white-space: nowrap; }
.used { background: #d9efe0; color: #14532d; }
.out { background: #fdebc8; color: #7a4a00; }
.cards { display: grid; gap: 1.5rem 2.5rem;
         grid-template-columns: repeat(auto-fill, minmax(min(29rem, 100%), 1fr)); }
.cards th, .cards td { padding: .1rem .5rem; }
.doubt { background: #fdebc8; color: #7a4a00; padding: .4rem .8rem; border-radius: .5rem; }
small { color: #7b8794; }
details { margin: .8rem 0; }
summary { cursor: pointer; color: #1f5f99; }
nav { margin: .8rem 0; display: flex; flex-wrap: wrap; gap: .5rem; }
nav button { font: inherit; padding: .25rem .9rem; border: 1px solid #cbd2d9; border-radius: 1rem;
             background: #fff; cursor: pointer; }
nav button[aria-pressed=true] { background: #1f5f99; border-color: #1f5f99; color: #fff; }
@media print { nav { display: none; } }
"""
