/// Shared libraries that every machine has.
enum SystemLibrary {
    private static let folders = ["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64", "/lib"]
    private static let names = ["libz.so.1", "libresolv.so.2", "libdl.so.2", "libutil.so.1"]

    static var paths: [String] {
        get throws {
            let found = folders.flatMap { folder in names.map { "\(folder)/\($0)" } }.filter { FuzzFile.read($0) != nil }
            guard !found.isEmpty else { throw FuzzError("none of \(names.joined(separator: ", ")) was found") }
            return found
        }
    }

    /// Only libraries up to this length.
    static func contents(upTo count: Int) throws -> [[UInt8]] {
        let contents = try paths.compactMap(FuzzFile.read).filter { $0.count <= count }
        guard !contents.isEmpty else { throw FuzzError("no library is small enough") }
        return contents
    }
}
