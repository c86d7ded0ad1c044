internal import LagCapture

/// Whether a process has loaded a library.
///
/// One owner's, under its lock. Takes some 100 µs, a millisecond in a program with hundreds of libraries. Repeated ever more
/// seldom while it is not found, because it may be loaded later.
struct LibrarySearch {
    private let process: Int32
    /// The prefix of its file name.
    private let name: String
    private var found = false
    private var search = SeldomSearch(first: 64, most: 1 << 16)

    init(process: Int32, name: String) {
        self.process = process
        self.name = name
    }

    var isLoaded: Bool {
        mutating get { isFound(searchingIf: { true }) }
    }

    /// - Parameter isNeeded: called before a search; if it is false, there is none, and the answer is false.
    mutating func isFound(searchingIf isNeeded: () -> Bool) -> Bool {
        guard !found, search.isDue(), isNeeded() else { return found }
        if let modules = ModuleMap(process: process) {
            modules.refresh()
            found = ProcessImage(modules).modules.contains { $0.name.hasPrefix(name) }
        }
        if !found { search.wasInVain() }
        return found
    }
}
