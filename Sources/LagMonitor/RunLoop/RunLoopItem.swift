internal import Synchronization

protocol RunLoopItem: AnyObject, Sendable {
    var attachment: Attachment { get }
    /// Lower runs earlier; equal ones in the order in which they were added.
    var order: Int { get }
    /// What epoll watches for it.
    var watchedDescriptor: Int32? { get }
}

extension RunLoopItem {
    var watchedDescriptor: Int32? { nil }
}

extension Sequence where Element: RunLoopItem {
    /// Of the ready items, in the order of their list: the one with the lowest `order`, and among equals the one that has waited
    /// longest for its turn. So an item that is always ready does not prevent others from being served.
    func next(where isReady: (Element) -> Bool) -> Element? {
        var best: (item: Element, turn: UInt64)?
        for item in self {
            if let best, item.order > best.item.order { break }
            let turn = item.attachment.lastTurn.load(ordering: .relaxed)
            if let best, turn >= best.turn { continue }
            if isReady(item) { best = (item, turn) }
        }
        return best?.item
    }
}
