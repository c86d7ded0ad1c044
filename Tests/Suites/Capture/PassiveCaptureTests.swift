import CLagLinux
import Glibc
import Testing

@testable import LagCapture

struct PassiveCaptureTests {
    /// A thread in `pthread_mutex_lock` has the same stack whatever it locks; the address is only in a register.
    @Test func `a wait for another address is another wait`() {
        func wait(_ change: (inout cll_thread_syscall) -> Void = { _ in }) -> cll_thread_syscall {
            var call = cll_thread_syscall(
                number: cll_syscall_futex,
                arguments: (0x7000, 0x80, 2, 0, 0, 0),
                sp: 0x7fff_0000,
                pc: 0x40_0000
            )
            change(&call)
            return call
        }
        #expect(wait().canBeSameWait(as: wait()))
        #expect(!wait { $0.arguments.0 = 0x7028 }.canBeSameWait(as: wait()))
        #expect(!wait { $0.arguments.5 = 1 }.canBeSameWait(as: wait()))
        #expect(!wait { $0.sp += 8 }.canBeSameWait(as: wait()))
        #expect(!wait { $0.number = 0 }.canBeSameWait(as: wait()))
    }
}
