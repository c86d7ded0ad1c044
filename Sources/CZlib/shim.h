// zlib (Debian: zlib1g-dev), for input that is gzip. Its functions need no wrapping; inflateInit2 is a macro over inflateInit2_.
#include <zlib.h>
