/// What is in one mode, but for its timers. A value: the loop's thread works on its own copy, without a lock.
struct ModeItems: Sendable {
    var observers: [RunLoopObserver] = []
    var sources: [RunLoopSource] = []
    var ports: [RunLoopPort] = []
    var descriptors: [RunLoopDescriptorSource] = []

    /// Whether nothing in it could ever wake a loop. Observers do not count: who looks on must not keep a run going.
    var hasNothingToWaitFor: Bool { sources.isEmpty && ports.isEmpty && descriptors.isEmpty }

    /// Which activities any of the observers wants.
    var observedActivities: RunLoopActivities { observers.reduce(into: []) { $0.formUnion($1.activities) } }
}

/// All modes of a loop; guarded by the loop's lock.
struct ModeRegistry: Sendable {
    var modes: [RunLoopMode: ModeItems] = [:]
    var commonModes: [RunLoopMode] = [.default]
    var commonItems = ModeItems()
    var timers = TimerTable()
    /// Set when the thread ended: nothing is taken any more.
    var isFinished = false

    /// What a run in `mode` works with.
    func items(of mode: RunLoopMode) -> ModeItems { modes[mode] ?? ModeItems() }

    /// Adds to one mode, or to the common items and every member mode. The modes it is new in; nil when refused.
    mutating func add<Item: RunLoopItem>(_ item: Item, to mode: RunLoopMode, in list: WritableKeyPath<ModeItems, [Item]>)
        -> [RunLoopMode]
    {
        guard mode == .common else {
            return modes[mode, default: ModeItems()][keyPath: list].insert(item: item) ? [mode] : []
        }
        guard commonItems[keyPath: list].insert(item: item) else { return [] }
        return commonModes.filter { modes[$0, default: ModeItems()][keyPath: list].insert(item: item) }
    }

    /// Removes from one mode, or from the common items and every member mode. The modes it left.
    mutating func remove<Item: RunLoopItem>(
        _ item: Item,
        from mode: RunLoopMode,
        in list: WritableKeyPath<ModeItems, [Item]>
    ) -> [RunLoopMode] {
        guard mode == .common else {
            return modes[mode]?[keyPath: list].remove(item: item) == true ? [mode] : []
        }
        guard commonItems[keyPath: list].remove(item: item) else { return [] }
        return commonModes.filter { modes[$0]?[keyPath: list].remove(item: item) == true }
    }

    /// Removes from everywhere. The modes it left.
    mutating func removeEverywhere<Item: RunLoopItem>(
        _ item: Item,
        in list: WritableKeyPath<ModeItems, [Item]>
    ) -> [RunLoopMode] {
        _ = commonItems[keyPath: list].remove(item: item)
        return modes.keys.filter { modes[$0]?[keyPath: list].remove(item: item) == true }
    }

    func contains<Item: RunLoopItem>(_ item: Item, in list: WritableKeyPath<ModeItems, [Item]>) -> Bool {
        commonItems[keyPath: list].contains(item: item)
            || modes.values.contains { $0[keyPath: list].contains(item: item) }
    }

    /// Makes `mode` a member of the common modes and puts every common item in it. The manual sources new in it; nil
    /// when it is one already.
    mutating func addCommonMode(_ mode: RunLoopMode) -> [RunLoopSource]? {
        guard !commonModes.contains(mode) else { return nil }
        commonModes.append(mode)
        var items = modes[mode] ?? ModeItems()
        for item in commonItems.observers { _ = items.observers.insert(item: item) }
        for item in commonItems.ports { _ = items.ports.insert(item: item) }
        for item in commonItems.descriptors { _ = items.descriptors.insert(item: item) }
        timers.addCommonMode(mode)
        let scheduled = commonItems.sources.filter { items.sources.insert(item: $0) }
        modes[mode] = items
        return scheduled
    }
}
