internal import CLagLinux
internal import Glibc
internal import LagMonitor

/// The environment of a wrapped command: lagmond's own, byte for byte, without lagmond's settings, and with what the preloaded
/// library needs.
struct ChildEnvironment {
    /// `NAME=value`, without a NUL.
    var entries: [[CChar]]

    /// This process's current environment without lagmond's settings: a monitor in the command would otherwise use them and
    /// report each stall a second time to the same place.
    static func current() -> ChildEnvironment {
        var entries: [[CChar]] = []
        while let entry = cll_environment_entry(Int32(entries.count)) {
            entries.append(Array(UnsafeBufferPointer(start: entry, count: strlen(entry))))
        }
        var environment = ChildEnvironment(entries: entries)
        environment.removeSettings()
        return environment
    }

    /// Makes the loader load `library`, after the libraries that the user named, and passes the name of the shared loop table.
    ///
    /// Fails if the loader cannot parse the path: it splits at colons and spaces, and has no quoting.
    /// - Returns: whether the library will be loaded.
    mutating func preload(_ library: String, loopTable: String) -> Bool {
        guard !library.contains(where: { $0 == ":" || $0.isWhitespace }), !library.contains("$") else { return false }
        let present = value(of: "LD_PRELOAD")
        set("LD_PRELOAD", to: present.isEmpty ? Self.bytes(library) : present + Self.bytes(":" + library))
        set(SettingKey.sharedLoopTableName, to: Self.bytes(loopTable))
        allowLibraryBeforeAddressSanitizer()
        return true
    }

    /// The shared runtime of AddressSanitizer (GCC's default) aborts a program in which another library is loaded before it, as a
    /// preloaded one is, because calls might bypass its interceptors. Our library passes each call on to the next library, which
    /// is then the runtime. The user's own settings stay.
    private mutating func allowLibraryBeforeAddressSanitizer() {
        let (name, option) = ("ASAN_OPTIONS", "verify_asan_link_order")
        let present = value(of: name)
        guard !String(decoding: present.map { UInt8(bitPattern: $0) }, as: UTF8.self).contains(option) else { return }
        set(name, to: present + Self.bytes((present.isEmpty ? "" : ":") + option + "=0"))
    }

    /// The value of a variable; empty if it is not set.
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

    mutating func removeSettings() {
        for key in SettingKey.all { remove(key.environmentName) }
    }

    /// Passes it to `body` in the form that `execve` takes.
    func withPointers<Result>(_ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result) -> Result {
        let owned = entries.map { entry in (entry + [0]).withUnsafeBufferPointer { strdup($0.baseAddress!) } }
        defer { for entry in owned { free(entry) } }
        var pointers = owned + [nil]
        return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
    }

    private static func bytes(_ text: String) -> [CChar] { text.utf8.map { CChar(bitPattern: $0) } }
}
