internal import LagModel

// Adding observers, sources, ports and descriptors to modes and removing them. Any thread, also inside callbacks: a removed item
// is not called any more, and an added one is served from the next step on.
extension ObservedRunLoop {
    /// Adds an observer to a mode, or to all common modes with ``RunLoopMode/common``.
    /// - Returns: false when it is invalid or in another loop, or when this loop has ended; nothing happens then.
    @discardableResult
    public func add(_ observer: RunLoopObserver, to mode: RunLoopMode) -> Bool {
        insert(observer, to: mode, in: \.observers) != nil
    }

    /// Adds a manual source; its schedule callback runs on the calling thread for each mode it is new in.
    /// - Returns: as for an observer.
    @discardableResult
    public func add(_ source: RunLoopSource, to mode: RunLoopMode) -> Bool {
        guard let modes = insert(source, to: mode, in: \.sources) else { return false }
        if let schedule = source.schedule { for mode in modes { schedule(self, mode) } }
        if source.isSignalled {
            signals.add(.sources)
            signals.wakeUp()
        }
        return true
    }

    /// Adds a port.
    /// - Returns: as for an observer.
    @discardableResult
    public func add(_ port: RunLoopPort, to mode: RunLoopMode) -> Bool {
        guard insert(port, to: mode, in: \.ports) != nil else { return false }
        if port.pendingMessages > 0 {
            signals.add(.ports)
            signals.wakeUp()
        }
        return true
    }

    /// Adds a file descriptor.
    /// - Returns: as for an observer.
    @discardableResult
    public func add(_ descriptor: RunLoopDescriptorSource, to mode: RunLoopMode) -> Bool {
        insert(descriptor, to: mode, in: \.descriptors) != nil
    }

    /// Removes an observer from a mode, or from all common modes if it was added to ``RunLoopMode/common``.
    public func remove(_ observer: RunLoopObserver, from mode: RunLoopMode) {
        take(observer, from: mode, in: \.observers)
    }

    /// Removes a manual source; its cancel callback runs on the calling thread for each mode it leaves.
    public func remove(_ source: RunLoopSource, from mode: RunLoopMode) {
        let modes = take(source, from: mode, in: \.sources)
        if let cancel = source.cancel { for mode in modes { cancel(self, mode) } }
    }

    /// Removes a port; its messages stay in it.
    public func remove(_ port: RunLoopPort, from mode: RunLoopMode) { take(port, from: mode, in: \.ports) }

    /// Removes a file descriptor. If it is in no other mode, it may be closed after this.
    public func remove(_ descriptor: RunLoopDescriptorSource, from mode: RunLoopMode) {
        take(descriptor, from: mode, in: \.descriptors)
    }

    /// Adds a mode to the common modes; every item added to ``RunLoopMode/common``, before or after, is in it.
    public func addCommonMode(_ mode: RunLoopMode) {
        guard mode != .common else { return }
        guard let scheduled = registry.withLock({ $0.isFinished ? nil : $0.addCommonMode(mode) }) else { return }
        for source in scheduled { source.schedule?(self, mode) }
        signals.add([.blocks, .sources, .ports])
        itemsChanged()
    }

    private func insert<Item: RunLoopItem>(
        _ item: Item,
        to mode: RunLoopMode,
        in list: ModeRegistry.List<Item>
    ) -> [RunLoopMode]? {
        let modes = registry.withLock { registry -> [RunLoopMode]? in
            guard !registry.isFinished, item.attachment.attach(to: self) else { return nil }
            return registry.add(item, to: mode, in: list)
        }
        guard let modes else { return nil }
        itemsChanged()
        return modes
    }

    @discardableResult
    private func take<Item: RunLoopItem>(
        _ item: Item,
        from mode: RunLoopMode,
        in list: ModeRegistry.List<Item>
    ) -> [RunLoopMode] {
        let modes = registry.withLock { registry -> [RunLoopMode] in
            guard item.attachment.isOwned(by: self) else { return [] }
            let modes = registry.remove(item, from: mode, in: list)
            if item.attachment.places.isEmpty { item.attachment.detach(from: self) }
            return modes
        }
        itemsChanged()
        return modes
    }

    /// Removes an item that has become invalid from every mode. Returns the modes that it left.
    @discardableResult
    func removeEverywhere<Item: RunLoopItem>(_ item: Item, in list: ModeRegistry.List<Item>) -> [RunLoopMode] {
        let modes = registry.withLock { registry -> [RunLoopMode] in
            guard item.attachment.isOwned(by: self) else { return [] }
            let modes = registry.removeEverywhere(item, in: list)
            item.attachment.detach(from: self)
            return modes
        }
        itemsChanged()
        return modes
    }

    /// Makes the loop check its items again before it continues.
    func itemsChanged() {
        signals.add(.items)
        if !isCurrent { signals.wakeUp() }
    }
}
