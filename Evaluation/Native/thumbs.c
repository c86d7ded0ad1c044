//! build: gcc -O2 -fuse-ld=gold -I/usr/include/freetype2 $S -o $O -l:libpng16.a -l:libfreetype.a -l:libbrotlidec.a -l:libbrotlicommon.a -l:libz.a -lm
//! part: open
//! packages: libpng-dev libfreetype-dev libbrotli-dev fonts-dejavu-core
//! stall png | write_thumb | write_thumb|on_png | cpu
//! stall glyph | draw_label | draw_label|on_glyph | cpu
//! stall blend | blend_rows | blend_rows|on_blend | cpu
//! stall crc | checksum_tile | checksum_tile|on_crc | cpu
#include "stall.h"
#include <png.h>
#include <zlib.h>
#include <ft2build.h>
#include FT_FREETYPE_H
static volatile long acc;
static unsigned char img[256 * 256 * 3], dst[256 * 256 * 3];
static void put(png_structp p, png_bytep d, png_size_t n) {
    (void)p;
    acc += n + d[0];
}
static void fl(png_structp p) { (void)p; }
static int write_thumb(const unsigned char *b, int w, int h) {
    png_structp p = png_create_write_struct(PNG_LIBPNG_VER_STRING, 0, 0, 0);
    png_infop i = png_create_info_struct(p);
    if (setjmp(png_jmpbuf(p))) return -1;
    png_set_write_fn(p, 0, put, fl);
    png_set_IHDR(p, i, w, h, 8, PNG_COLOR_TYPE_RGB, 0, 0, 0);
    png_write_info(p, i);
    for (int y = 0; y < h; y++) png_write_row(p, b + y * w * 3);
    png_write_end(p, i);
    png_destroy_write_struct(&p, &i);
    return h;
}
void on_png(void) { REPEAT(acc += write_thumb(img, 256, 256)); }
int draw_label(FT_Face f, const char *s, int px) {
    int n = 0;
    FT_Set_Pixel_Sizes(f, 0, px);
    for (; *s; s++)
        if (!FT_Load_Char(f, *s, FT_LOAD_RENDER)) n += f->glyph->bitmap.rows;
    return n;
}
void on_glyph(void) {
    static FT_Library l;
    static FT_Face f;
    if (!l) {
        FT_Init_FreeType(&l);
        if (FT_New_Face(l, getenv("NAT_FONT") ? getenv("NAT_FONT") : "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 0, &f)) exit(3);
    }
    uint64_t e = in_ms(430);
    int k = 0;
    while (ms_left(e)) acc += draw_label(f, "The quick brown fox", 20 + k++ % 40);
}
static void blend_rows(unsigned char *d, const unsigned char *s, int n, int a) {
    for (int i = 0; i < n; i++) d[i] = (d[i] * (255 - a) + s[i] * a) / 255;
}
void on_blend(void) {
    uint64_t e = in_ms(430);
    int k = 0;
    while (ms_left(e)) {
        blend_rows(dst, img, sizeof dst, k++ & 255);
        acc += dst[k & 1023];
    }
}
unsigned long checksum_tile(const unsigned char *b, unsigned n) { return crc32(adler32(1, b, n), b, n); }
void on_crc(void) { REPEAT(acc += checksum_tile(img, sizeof img)); }
static const struct way ways[] = {{"png", on_png}, {"glyph", on_glyph}, {"blend", on_blend}, {"crc", on_crc}, {0, 0}};
int main(int c, char **v) {
    (void)c;
    unsigned s = 7;
    for (unsigned i = 0; i < sizeof img; i++) {
        s = s * 1103515245 + 12345;
        img[i] = (s >> 16) & (i & 0x400 ? 15 : 255);
    }
    serve_epoll(atoi(v[1]), ways);
    return acc;
}
