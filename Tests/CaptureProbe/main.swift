import CLibunwind
import Glibc
import LagCapture

let capture = try ThreadCapture()
for i in 0..<60 { if let m = capture.modules.module(at: i) { print(i, m.path, m.buildID, String(m.bias, radix: 16)) } }
print(capture.modules.index(of: UInt64(UInt(bitPattern: dlsym(nil, "malloc")))) as Any)
