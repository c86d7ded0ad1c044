/// A member of a line of schema `lagmonitor.stall.v1`, in the order of the line. Its definition is in ``FieldTable``.
package enum StallField: UInt8, CaseIterable, Sendable {
    case schema, time, id, event, phase, severity, message, kind, foundBy, fingerprint, stackHash
    // Only in notices.
    case dropped, reason, fingerprints, suppressed, firstTime, lastTime, longest, total, count, window, seenTotal
    case duration, durationMinimum, durationMaximum, excluded, threshold
    case mono, bootID, pid, threadID, threadName, processName, hostName, serviceName, serviceVersion
    case podNamespace, podName, podContainer, podNode, containerID, labels
    case loop, activity, mode
    case traceID, spanID, request, requestsOpen, task, state
    case cause, cpu, runDelay, throttled, blocked, system, minorFaults, majorFaults, collecting
    case syscall, syscallDescriptor, syscallTarget, wchan
    case lockKind, lockAddress, lockOwner, lockReaders, lockCycle, lockChain, incident, pending, pendingTime, jobsWaiting, turns,
        turnEvents
    case capture, captureError, framePointerRecovered, unwindEnd
    case samples, samplesMatched, samplesShare, workersTotal, workers, culprit, culpritConfidence
    case sequence, droppedTotal, suppressedTotal, late, framesTotal, frames, sampleTree

    package var definition: FieldDefinition { FieldTable.all[Int(rawValue)] }
    package var name: String { "\(definition.name)" }
}
