/// Functions that collect a language's garbage, by the simplified names in its runtime's file: while one is on the stack, the
/// thread does nothing else.
///
/// V8: `src/heap/heap.cc`; PHP: `Zend/zend_gc.c`. (For CPython its state shows it, see ``CaptureOutcome``; Go's collector has
/// threads of its own.)
package enum CollectorFunction {
    private static let prefixes = PrefixSet([
        "v8::internal::Heap::CollectGarbage", "v8::internal::Heap::CollectAllGarbage",
        "v8::internal::Heap::PerformGarbageCollection",
        "v8::internal::Heap::Scavenge", "v8::internal::Heap::MarkCompact", "zend_gc_collect_cycles",
    ])

    package static func isOne(_ symbol: String) -> Bool { prefixes.holdsPrefix(of: symbol) }
}
