public import Dispatch

/// Blocks a serial queue: when this returns, a block on the queue waits for the returned semaphore.
public func occupy(_ queue: DispatchQueue) -> DispatchSemaphore {
    let (began, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    queue.async {
        began.signal()
        goOn.wait()
    }
    began.wait()
    return goOn
}
