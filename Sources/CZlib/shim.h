// zlib (Debian: zlib1g-dev), for input that is gzip. Its functions need no wrapping; inflateInit2 is a macro over inflateInit2_.
#if !__has_include(<zlib.h>)
#error "zlib's headers are missing: install zlib1g-dev (Debian, Ubuntu) or zlib-devel (Fedora)"
#endif
#include <zlib.h>
