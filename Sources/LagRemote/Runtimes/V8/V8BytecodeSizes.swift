/// The size of each bytecode with its operands: `Bytecodes::kBytecodeSizes` (`src/interpreter/bytecodes.cc`), for builds that do
/// not export it.
struct V8BytecodeSizes: Sendable {
    /// A digit for each bytecode, in their order: of single width.
    let single: String
    /// And how many bytes of it are operands that become wider.
    let growing: String

    /// For single, double and quadruple width, in this order, as in V8.
    var table: [UInt8] {
        let (single, growing) = (digits(single), digits(growing))
        return single + zip(single, growing).map { $0 + $1 } + zip(single, growing).map { $0 + 3 * $1 }
    }

    private func digits(_ text: String) -> [UInt8] { text.utf8.map { $0 - UInt8(ascii: "0") } }

    /// V8 13.6 as node 24 has it (of its file's own symbols).
    static let v13u6 = V8BytecodeSizes(
        single:
            "11111234556212111112444222232221112333424224442444344353344454533333333333333333333333322221122224554565"
            + "34555644553333333331222115412414342333311142222222222422222222222244235211112112454412211111111111111111",
        growing:
            "00000123423101000001333111121110000222313113331333133242233333322222222222222222222222211110011113443454"
            + "23442322442222222220111002201202221222200031111111111311111111111133124100001001343301100000000000000000"
    )
}
