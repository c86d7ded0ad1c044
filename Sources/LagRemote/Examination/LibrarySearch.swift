internal import LagCapture

/// Which of the libraries that matter for an examination a process has loaded.
///
/// One owner's, under its lock. Takes some 100 µs, a millisecond in a program with hundreds of libraries. Repeated ever more
/// seldom while one is not found, because it may be loaded later.
struct LibrarySearch {
    /// A library, by the prefix of its file name.
    enum Library: String, CaseIterable {
        case glib = "libglib-2.0.so"
        case libev = "libev.so"
        case javaMachine = "libjvm.so"
    }

    private let process: Int32
    private var found: Set<Library> = []
    private var search = SearchBackoff(first: 64, most: 1 << 16)

    init(process: Int32) { self.process = process }

    mutating func has(_ library: Library) -> Bool {
        guard !found.contains(library), search.isDue() else { return found.contains(library) }
        if let modules = ModuleMap(process: process) {
            modules.refresh()
            let names = modules.present.compactMap { index, _ in modules.module(at: index)?.baseName }
            found = Set(Library.allCases.filter { library in names.contains { $0.hasPrefix(library.rawValue) } })
        }
        if !found.contains(library) { search.wasInVain() }
        return found.contains(library)
    }
}
