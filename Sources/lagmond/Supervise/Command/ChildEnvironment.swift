internal import CLagLinux
internal import Glibc

/// The environment of a wrapped command: our own, byte for byte, and what the preloaded library needs.
struct ChildEnvironment {
    /// `NAME=value`, without a NUL.
    var entries: [[CChar]]

    /// This process's, as it is now.
    static func current() -> ChildEnvironment {
        var entries: [[CChar]] = []
        while let entry = cll_environment_entry(Int32(entries.count)) {
            entries.append(Array(UnsafeBufferPointer(start: entry, count: strlen(entry))))
        }
        return ChildEnvironment(entries: entries)
    }

    /// Has the loader take `library` in, after those that the user named; and says where the page is.
    ///
    /// Fails where the path cannot be told to the loader, which separates by colons and blanks and knows no quoting.
    /// - Returns: Whether it is there now.
    mutating func preload(_ library: String, loopTable: String) -> Bool {
        guard !library.contains(where: { $0 == ":" || $0.isWhitespace }), !library.contains("$") else { return false }
        let present = value(of: "LD_PRELOAD")
        set("LD_PRELOAD", to: present.isEmpty ? Self.bytes(library) : present + Self.bytes(":" + library))
        set("LAGMONITOR_PAGE", to: Self.bytes(loopTable))
        return true
    }

    /// The value of a variable; empty when there is none.
    func value(of name: String) -> [CChar] {
        let prefix = Self.bytes(name + "=")
        return entries.first { $0.starts(with: prefix) }.map { Array($0.dropFirst(prefix.count)) } ?? []
    }

    mutating func set(_ name: String, to value: [CChar]) {
        remove(name)
        entries.append(Self.bytes(name + "=") + value)
    }

    mutating func remove(_ name: String) {
        let prefix = Self.bytes(name + "=")
        entries.removeAll { $0.starts(with: prefix) }
    }

    /// Lends it in the form that `execve` takes.
    func withPointers<Result>(_ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result) -> Result {
        let owned = entries.map { entry in (entry + [0]).withUnsafeBufferPointer { strdup($0.baseAddress!) } }
        defer { for entry in owned { free(entry) } }
        var pointers = owned + [nil]
        return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
    }

    private static func bytes(_ text: String) -> [CChar] { text.utf8.map { CChar(bitPattern: $0) } }
}
