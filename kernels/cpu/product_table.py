"""Which form of a product is fastest, as ``benchmarks/products.py --tune`` has measured it.

    FORMS["instruction set, element type, layout of the operands"][rows].split()[columns][terms]

is a letter: d dots, r the right operand read as it lies, p packed, b OpenBLAS. The places are those
of a product's rows, columns and terms among ``LIMITS``.
"""

LIMITS = ((3, 11, 23, 47, 95, 383), (3, 11, 23, 47, 95, 383), (15, 63, 255, 1023))
FORMS: dict[str, tuple[str, ...]] = {
    "avx512 float32 nn": (
        "bbbbb bbbbb bbbbb bbbbb bbbbb bbbbb bbbbr",
        "bbbbb bbbbb bbrrr bbbbb bbbbr bbbbr bbbrr",
        "bbbbb bbbbb bbbrr bbbbr bbbbr bbbrr bbrrr",
        "bbbbb bbbbb bbbbr bbbbr bbbrr bbbrr bbrrb",
        "bbbbb bbbbr bbbbr bbbrr bbbrr bbrrr brrrb",
        "bbbbb bbbbr bbbrr bbbrr bbrrr bbrrr brrrr",
        "bbbbb bbbrr bbrrr bbrrr brrrr brprr rpprr",
    ),
    "avx512 float32 nt": (
        "dbbbb dbbbb pbbbb pbbbb pbbbb pbbbb ppddd",
        "dbbbb bbbbb pbbbb pbbbb pbbbd pbbbd pppdd",
        "bbbbb bbbbb pbbbb pbbbd ppbbd ppppd ppppd",
        "bbbbb bbbbb pbbbd ppbbp ppppp ppppp ppppp",
        "bbbbb bbbbd ppbbp ppppp ppppp ppppp ppppp",
        "bbbbb bbbdd ppppp ppppp ppppp ppppp ppppp",
        "bbddd bppdd bpppp ppppp ppppp ppppp ppppp",
    ),
    "avx512 float32 tn": (
        "bbbbb brrrr bbbbb bbbbb bbbbb bbbbb bbbbr",
        "bbbbb rrrrr bbbbb bbbbb bbbbr bbrrr bbrrr",
        "bbbbb bbbbb bbbbb bbbbr bbbbr bbrrr bbrrr",
        "bbbbb bbbbb bbbbr bbbbr bbbrr bbbrr bbrrr",
        "bbbbb bbbbr bbbbr bbbrr bbbrr bbrrr brrrr",
        "bbbbb bbbbr bbbrr bbbrr bbrrr bbrrr brrrr",
        "bbbbb bbbrr bbrrr bbrrr brrrp brppr rrrpp",
    ),
    "avx512 float32 tt": (
        "bbbbb bbbbb bbbbb bbppp bpppp ppppp ppppb",
        "bbbbb bbbbb bbbbb bbbbb bbbbp bbbbp ppppp",
        "bbbbb bbbbb bbbbb bbbbp bbbbp bbbpp bbppp",
        "bbbbb bbbbb bbbbp bbbbp bbbpp bbbpp bbppp",
        "bbbbb bbbbb bbbbp bbbpp bbbpp bbppp ppppp",
        "bbbbb bbbbp bbbpp bbbpp bbppp pbppp ppppp",
        "bbbbb bbbpp bbppp bbppp bpppp ppppp ppppp",
    ),
    "avx512 float64 nn": (
        "bbbbb bbrrr bbbbb bbbbb bbbbb bbbbb bbbbb",
        "bbbbb bbbbb bbbbb bbbbb bbbbr bbbbr bbbrb",
        "bbbbb bbbbb bbbbr bbbbr bbbbr bbbrr bbrrb",
        "bbbbb bbbbb bbbbr bbbbr bbbrr bbbrr bbrrb",
        "bbbbb bbbbr bbbbr bbbrr bbbrr bbrrr brrrb",
        "bbbbb bbbbr bbbrr bbbrr bbrrr bbrrp brrrb",
        "bbbbb bbbrr bbrrr bbrrp brrrr brrpr prppp",
    ),
    "avx512 float64 nt": (
        "dbbbb bbbbb bbbbb bbbbb bbbbb bbbbb bbddd",
        "dbbbb bbbbb bbbbb bbbbb bbbbd bbbbd bbbdp",
        "bbbbb bbbbb pbbbb bbbbp pbbbp ppppp ppppp",
        "bbbbb bbbbb pbbbp pbbbp ppppp ppppp ppppp",
        "bbbbb bbbbd pbbpp ppppp ppppp ppppp ppppp",
        "bbbbb bppdp ppppp ppppp ppppp ppppp ppppp",
        "bpddb pppdp ppppp ppppp ppppp ppppp ppppp",
    ),
    "avx512 float64 tn": (
        "bbbbb bbrrr bbbbb bbbbb bbbbb bbbbr bbbbr",
        "bbbbb bbbbb bbbbb bbbrr bbrrr bbbrr brrrb",
        "bbbbb bbbbb bbbbb bbbrr bbrrr bbrrr brrrb",
        "bbbbb bbbbb bbbbr bbbbr bbbrr bbrrr bbrrb",
        "bbbbb bbbbr bbbbr bbbrr bbrrr bbrrr brrbb",
        "bbbbb bbbbr bbbrr bbbrr bbrrr bbrrp brrbb",
        "bbbbb bbbrr bbrrr bbrrr bpppr brrrp prppp",
    ),
    "avx512 float64 tt": (
        "bbbbb bbbbb bbbbb bbbbb bbbbb bbbbb bbbbb",
        "bbbbb bbbbb bbbbb bbbbb bbbbp bbbbp bbbpp",
        "bbbbb bbbbb bbbbb bbbbp bbbbp bbbpp bbppp",
        "bbbbb bbbbb bbbbp bbbbp bbbpp bbbpp pbppp",
        "bbbbb bbbbp bbbbp bbbpp bbbpp bbppp ppppp",
        "bbbbb bbbbp bbbpp bbbpp bbppp pbppp ppppb",
        "bbbbb bbbpp bbppp bbppp ppppp ppppp ppppp",
    ),
}
