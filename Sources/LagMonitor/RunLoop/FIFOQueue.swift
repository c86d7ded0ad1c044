/// First in, first out, with a constant cost for each element, however many wait. A value; not safe for several threads at once.
struct FIFOQueue<Element> {
    /// An element that was taken becomes nil at once, so that it is not kept alive.
    private var elements: [Element?] = []
    private var head = 0

    /// With fewer used-up places than this, moving what follows them is not worthwhile.
    private static var compactionMinimum: Int { 64 }
    /// An emptied queue keeps memory for this many elements: a steady trickle allocates nothing, and a burst's memory is
    /// released.
    private static var keptCapacity: Int { 256 }

    var count: Int { elements.count - head }
    var isEmpty: Bool { count == 0 }

    /// The oldest element.
    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head].take()
        head += 1
        if head == elements.count {
            if elements.capacity > Self.keptCapacity { elements = [] } else { elements.removeAll(keepingCapacity: true) }
            head = 0
        } else if head >= Self.compactionMinimum, head > elements.count / 2 {
            // Each element is moved at most once for each one that was taken.
            elements.removeSubrange(..<head)
            head = 0
        }
        return element
    }

    /// Moves everything that waits in `other` to the end of this queue; `other` is empty after that.
    mutating func append(takingFrom other: inout FIFOQueue) {
        if isEmpty {
            swap(&self, &other)
        } else {
            elements += other.elements[other.head...]
            other.elements.removeAll(keepingCapacity: other.elements.capacity <= Self.keptCapacity)
            other.head = 0
        }
    }

    /// Puts elements before everything that waits, in their order. The cost is proportional to the elements of both.
    mutating func prepend(_ earlier: [Element]) {
        elements.replaceSubrange(..<head, with: earlier.lazy.map { $0 })
        head = 0
    }

    /// What waits, oldest first.
    var waiting: [Element] { elements[head...].compactMap { $0 } }
}

extension FIFOQueue: Sendable where Element: Sendable {}
