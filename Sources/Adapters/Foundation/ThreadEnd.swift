internal import Glibc

/// Notifies the loops on the calling thread of the thread's end.
enum ThreadEnd {
    /// What a thread keeps until its end.
    private final class Listeners {
        struct Listener { weak var publisher: LoopActivityPublisher? }

        var listeners: [Listener] = []
    }

    /// One for the process. Nil if there are no keys left: then a loop's end is not noticed.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        let error = pthread_key_create(&key) { raw in
            guard let raw else { return }
            for listener in Unmanaged<Listeners>.fromOpaque(raw).takeRetainedValue().listeners { listener.publisher?.finish() }
        }
        return error == 0 ? key : nil
    }()

    /// Notifies `publisher` of the calling thread's end, if it still exists then.
    static func notify(_ publisher: LoopActivityPublisher) {
        guard let key else { return }
        let present = pthread_getspecific(key).map { Unmanaged<Listeners>.fromOpaque($0).takeUnretainedValue() }
        let listeners = present ?? Listeners()
        listeners.listeners.removeAll { $0.publisher == nil }
        listeners.listeners.append(Listeners.Listener(publisher: publisher))
        if present == nil { pthread_setspecific(key, Unmanaged.passRetained(listeners).toOpaque()) }
    }
}
