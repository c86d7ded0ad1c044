/// The items of one mode, except its timers. A value: the loop's thread works on its own copy, without a lock.
struct ModeItems: Sendable {
    var observers = ItemList<RunLoopObserver>()
    var sources = ItemList<RunLoopSource>()
    var ports = ItemList<RunLoopPort>()
    var descriptors = ItemList<RunLoopDescriptorSource>()

    /// Whether nothing in it could ever wake a loop. Observers do not count: an observer must not keep a run going.
    var hasNothingToWaitFor: Bool { sources.isEmpty && ports.isEmpty && descriptors.isEmpty }

    /// The activities that any of the observers wants.
    var observedActivities: RunLoopActivities { observers.reduce(into: []) { $0.formUnion($1.activities) } }
}

/// All modes of a loop; guarded by the loop's lock. Its items belong to the loop. Each item records its modes
/// (``Attachment/places``), so that they are known without a search.
struct ModeRegistry: Sendable {
    typealias List<Item: RunLoopItem> = WritableKeyPath<ModeItems, ItemList<Item>>

    var modes: [RunLoopMode: ModeItems] = [:]
    var commonModes: [RunLoopMode] = [.default]
    var commonItems = ModeItems()
    var timers = TimerTable()
    var epoll = EpollRemovals()
    /// Set when the thread ended: nothing is accepted any more.
    var isFinished = false
    private var lastSequence: UInt64 = 0

    /// The items for a run in `mode`.
    func items(of mode: RunLoopMode) -> ModeItems { modes[mode] ?? ModeItems() }

    /// Adds to one mode, or to the common items and every member mode. Returns the modes in which it is new; nil if refused.
    mutating func add<Item: RunLoopItem>(_ item: Item, to mode: RunLoopMode, in list: List<Item>) -> [RunLoopMode] {
        lastSequence += 1
        guard insert(item, into: mode, in: list, lastSequence) else { return [] }
        guard mode == .common else { return [mode] }
        // The same number in each mode, so that a run in one of them after a run in another has nothing to change for it.
        return commonModes.filter { insert(item, into: $0, in: list, lastSequence) }
    }

    /// Removes from one mode, or from the common items and every member mode. Returns the modes that it left.
    mutating func remove<Item: RunLoopItem>(_ item: Item, from mode: RunLoopMode, in list: List<Item>) -> [RunLoopMode] {
        guard take(item, outOf: mode, in: list) else { return [] }
        guard mode == .common else { return [mode] }
        return commonModes.filter { take(item, outOf: $0, in: list) }
    }

    /// Removes from everywhere. Returns the modes that it left.
    mutating func removeEverywhere<Item: RunLoopItem>(_ item: Item, in list: List<Item>) -> [RunLoopMode] {
        item.attachment.places.map(\.mode).filter { take(item, outOf: $0, in: list) && $0 != .common }
    }

    /// Adds `mode` to the common modes and adds every common item to it. Returns the manual sources that are new in it; nil if it
    /// is a common mode already.
    mutating func addCommonMode(_ mode: RunLoopMode) -> [RunLoopSource]? {
        guard !commonModes.contains(mode) else { return nil }
        commonModes.append(mode)
        func insert<Item: RunLoopItem>(_ item: Item, _ list: List<Item>) -> Bool {
            item.attachment.sequence(in: .common).map { self.insert(item, into: mode, in: list, $0) } ?? false
        }
        for item in commonItems.observers { _ = insert(item, \.observers) }
        for item in commonItems.ports { _ = insert(item, \.ports) }
        for item in commonItems.descriptors { _ = insert(item, \.descriptors) }
        timers.addCommonMode(mode)
        return commonItems.sources.filter { insert($0, \.sources) }
    }

    private mutating func insert<Item: RunLoopItem>(
        _ item: Item,
        into mode: RunLoopMode,
        in list: List<Item>,
        _ sequence: UInt64
    ) -> Bool {
        guard item.attachment.sequence(in: mode) == nil else { return false }
        item.attachment.places.append(Attachment.ModePlace(mode: mode, sequence: sequence))
        if mode == .common {
            commonItems[keyPath: list].insert(item, sequence: sequence)
        } else {
            modes[mode, default: ModeItems()][keyPath: list].insert(item, sequence: sequence)
        }
        return true
    }

    private mutating func take<Item: RunLoopItem>(_ item: Item, outOf mode: RunLoopMode, in list: List<Item>) -> Bool {
        guard let sequence = item.attachment.sequence(in: mode) else { return false }
        item.attachment.places.removeAll { $0.mode == mode }
        if mode == .common {
            commonItems[keyPath: list].remove(item, sequence: sequence)
        } else {
            modes[mode]?[keyPath: list].remove(item, sequence: sequence)
        }
        if let descriptor = item.watchedDescriptor, item.attachment.places.isEmpty { epoll.forget(descriptor) }
        return true
    }
}
