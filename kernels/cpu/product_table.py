"""Which form of a product is fastest, as ``benchmarks/products.py --tune`` has measured it.

    FORMS["instruction set, element type, layout of the operands"][rows].split()[columns][terms]

is a letter: d dots, r the right operand read as it lies, p packed, b OpenBLAS. The places are those
of a product's rows, columns and terms among ``LIMITS``.
"""

LIMITS = ((3, 11, 23, 47, 95, 383), (3, 11, 23, 47, 95, 383), (15, 63, 255, 1023))
FORMS: dict[str, tuple[str, ...]] = {
    "avx2 float32 nn": (
        "prrrr rrrrr rrrrr rrrrr rrrrr rrrrr rrrrb",
        "rrrrr rrrrr rrrrr rrrrr rrrrr rrrrr rrrrb",
        "rrrrr rrrrr rrrrr rrrrr rrrrr rrrrr rrrrp",
        "rrrbb rrrrr rrrrr rrrrr rrrrr rrrrr rbrpb",
        "bbbbb rrrrr rrrrr rrrrr rrrrr rrrrr rbbrb",
        "bbbbb rrrrr rrrrr rrrrr rrrrp rrrrp rppbb",
        "bbbbb brbrp rrrrr rrppr prppp prprp bpppp",
    ),
    "avx2 float32 nt": (
        "ddddd ddddd ddddd bdddd bdddd bpddd ppddd",
        "ddddd bbddd pppdd bppdp bppdp bppdd bppdp",
        "bdddd pbddd ppppp ppppp ppppp ppppp ppppp",
        "bbddd bbbdd ppppp ppppp bpppp ppppp bpppp",
        "bbddd bbbdd ppppp ppppp ppbpp ppppp bbppp",
        "bbddd bbbdd ppppp ppppp pppbp bpppp bpppp",
        "bbddd bbbdp ppppp ppppp ppbpp ppppp ppppp",
    ),
    "avx2 float32 tn": (
        "rrrrr rrrrr rrrrr rrrrr rrrrr rrrrr rrrrb",
        "rrrrr rrrrr rrrrr rrrrr rrrrr rrrrr rrrrr",
        "rrrrr rrrrr rrrrr rrrrr rrrrr rrrrr rrrrb",
        "rrrrr rrrrr rrrrr rrrrr rrrrr rrrrr bbrrb",
        "bbbbb rrrrr rrrrr rrrrr rrrpp rrrrp rbbpb",
        "bbbbb brrbb rrprr rrrrr rrrrr bbppp bpbpb",
        "bbbbb bbbbp prrrr pprpp ppbrp rrppp prbbb",
    ),
    "avx2 float32 tt": (
        "bbbbb pbbbb ppppp bpppp bpppp bpppp ppppb",
        "bbbbb bbbbb ppppp bpppp ppppp bpppp bppbp",
        "bbbbb pbbbb ppppp ppppp ppppp pbppb ppppp",
        "bbbbb bbbbb ppppp ppppp ppppp ppbpp bpppp",
        "bbbbb bbbbb ppppp ppppp bpppp ppppp bpbpb",
        "bbbbb bbbbb ppppp ppppp ppppp bpppp ppppp",
        "bbbbb bbbbp ppppp ppppp pbbpp bbbbp bbbbb",
    ),
    "avx512 float32 nn": (
        "bbbbb bbbbb bbbbb bbbbb bbbbb bbbbb bbbbb",
        "bbbbb bbbbb bbbrr bbbrr bbbrr bbbrr bbbrr",
        "bbbbb bbbbb bbbrr bbbrr bbbbr bbbrr bbrrr",
        "bbbbb bbbbb bbbbr bbbrr bbbrr bbbrr bbrrb",
        "bbbbb bbbbr bbbbr bbbrr bbbrr bbrrr brrrr",
        "bbbbb bbbbr bbbrr bbbrr bbrrr bbrrr bprrr",
        "bbbbb bbbrr bbrrr bbrrr brrrr brprr pprrr",
    ),
    "avx512 float32 nt": (
        "dbbbb bbbbb bbbbb bbbbb bbbbb pbbbb ppddd",
        "dbbbb bbbbb pbbbb pbbbb pbbbd pbbbd pppdd",
        "bbbbb bbbbb pbbbb pbbbd ppbbd ppppd ppppd",
        "bbbbb bbbbb pbbbd ppbbp ppppp ppppp ppppp",
        "bbbbb bbbbd ppbbp ppppp ppppp ppppp ppppp",
        "bbbbb bbbdd ppppp ppppp ppppp ppppp ppppp",
        "bbddd bppdd bpppp ppppp ppppp ppppp ppppp",
    ),
    "avx512 float32 tn": (
        "bbbbb rrrrr bbbbb bbbbb bbbbb bbbbb bbbbr",
        "bbbbb rrrrr bbbbb bbbbb bbbrr bbrrr bbrrr",
        "bbbbb bbbbb bbbbb bbbbr bbbrr bbrrr bbrrr",
        "bbbbb bbbbb bbbbr bbbbr bbbrr bbbrr bbrrr",
        "bbbbb bbbbr bbbbr bbbrr bbbrr bbrrr brrrr",
        "bbbbb bbbbr bbbrr bbbrr bbrrr bbrrr bprrr",
        "bbbbb bbbrr bbrrr bbrrr brrrp brppr rpppp",
    ),
    "avx512 float32 tt": (
        "bbbbb bbbbb bbbbb bbppp bpppp ppppp ppppb",
        "bbbbb bbbbb bbbbb bbbbp bbbbp bbbpp ppppp",
        "bbbbb bbbbb bbbbb bbbbp bbbbp bbbpp bbppp",
        "bbbbb bbbbb bbbbp bbbbp bbbpp bbbpp bbppp",
        "bbbbb bbbbb bbbbp bbbpp bbbpp bbppp ppppp",
        "bbbbb bbbbp bbbpp bbbpp bbppp pbppp ppppp",
        "bbbbb bbbpp bbppp bbppp ppppp ppppp ppppp",
    ),
    "avx512 float64 nn": (
        "bbbbb bbrrr bbbbb bbbbb bbbbb bbbbb bbbbr",
        "bbbbb bbbbb bbbrr bbbrb bbbrr bbbrr bbbrb",
        "bbbbb bbbbb bbbrr bbbbr bbbrr bbrrr bbrrb",
        "bbbbb bbbbb bbbrr bbbbr bbbrr bbbrr bbrrr",
        "bbbbb bbbbr bbbrr bbbrr bbbrr bbrrr brrrr",
        "bbbbb bbbbr bbbrr bbbrr bbrrr bbrrp brrrr",
        "bbbbb bbbpr bbrrr bbrpp brprp bprrr pprrp",
    ),
    "avx512 float64 nt": (
        "dbbbb bbbbb bbbbb bbbbb bbbbb bbbbb bbddd",
        "bbbbb bbbbb bbbbb bbbbb bbbbp bbbbp bbbdp",
        "bbbbb bbbbb pbbbb bbbbp pbbbp ppppp ppppp",
        "bbbbb bbbbb pbbbp pbbbp ppppp ppppp ppppp",
        "bbbbb bbbbd pbbbp ppppp ppppp ppppp ppppp",
        "bbbbb bppdp ppppp ppppp ppppp ppppp ppppp",
        "bpddd bppdp ppppp ppppp ppppp ppppp ppppp",
    ),
    "avx512 float64 tn": (
        "bbbbb bbbrr bbbbb bbbbb bbbbb bbbbb bbbbb",
        "bbbbb bbbbb bbbrr bbbrr bbrrr bbrrr brrrr",
        "bbbbb bbbbb bbbrr bbbrr bbrrr bbrrr brrrb",
        "bbbbb bbbbb bbbrr bbbrr bbbrr bbrrr brrrr",
        "bbbbb bbbbr bbbrr bbbrr bbbrr bbrrr brrrr",
        "bbbbb bbbbr bbbrr bbbrr bbrrr bbrrr brrrr",
        "bbbbb bbbrr bbrrr bbppp brprr bprrr rprpp",
    ),
    "avx512 float64 tt": (
        "bbbbb bbbbb bbbbb bbbbb bbbbb bbbbb bbbbb",
        "bbbbb bbbbb bbbbb bbbbb bbbbp bbbbp bbbpp",
        "bbbbb bbbbb bbbbb bbbbp bbbbp bbbpp bbppp",
        "bbbbb bbbbb bbbbp bbbbp bbbpp bbbpp bbppp",
        "bbbbb bbbbp bbbbp bbbpp bbbpp bbppp ppppp",
        "bbbbb bbbbp bbbpp bbbpp bbppp pbppp ppppp",
        "bbbbb bbbpp bbppp bbppp ppppp ppppp ppppp",
    ),
}
