/// Compressed formats that log rotation also uses. They are recognised to be refused by name: as text, all of their lines
/// would be damaged.
enum Compression {
    /// The first bytes of a file, and the program that decompresses it to stdout with `-dc`.
    private static let refused: [(magic: [UInt8], program: String)] = [
        ([0x28, 0xb5, 0x2f, 0xfd], "zstd"),  // RFC 8878, 3.1.1
        ([0xfd, 0x37, 0x7a, 0x58, 0x5a], "xz"),  // The .xz File Format 1.2.1, 2.1.1.1
        ([0x42, 0x5a, 0x68], "bzip2"),  // "BZh"
        ([0x04, 0x22, 0x4d, 0x18], "lz4"),  // LZ4 Frame Format 1.6.4
    ]

    /// The bytes that all formats need to be recognised, gzip included.
    static let magicBytes = 5

    static func refuse(_ first: [UInt8], _ name: String) throws(InputError) {
        guard let program = refused.first(where: { first.starts(with: $0.magic) })?.program else { return }
        throw InputError(
            refused: name,
            "compressed by \(program); allowed: plain or gzip; pipe it: \(program) -dc FILE | lagmond … -"
        )
    }
}
