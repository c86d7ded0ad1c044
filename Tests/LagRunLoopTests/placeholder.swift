import LagActivity
import LagRunLoop
import Testing

struct Smoke {
    @Test func works() throws {
        let t = try KeepAliveThread(name: "smoke")
        let v = try t.performAndWait { 42 }
        #expect(v == 42)
        t.stop()
        t.join()
        #expect(t.isFinished)
    }
}
