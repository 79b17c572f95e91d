"""The paper's figures and tables, made again, in its order.

``make paper`` computes what its folder of finished pieces lacks and writes ``docs/paper.md`` with
its figures. A module per figure or table; :mod:`benchmarks.paper.edition` says how much is run.
"""
