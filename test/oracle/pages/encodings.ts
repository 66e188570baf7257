import { type Document, document } from '../answers.js'

/** Labels of the encoding standard, among them several of one encoding and some that are not labels. */
const LABELS: readonly string[] = [
  ...[
    'utf-8',
    'utf8',
    'UTF-8',
    'unicode-1-1-utf-8',
    'iso-8859-1',
    'latin1',
    'us-ascii',
    'windows-1252',
    'cp1252',
    'iso-8859-2',
    'iso-8859-3',
  ],
  ...[
    'iso-8859-4',
    'iso-8859-5',
    'iso-8859-6',
    'iso-8859-7',
    'iso-8859-8',
    'iso-8859-8-i',
    'iso-8859-9',
    'iso-8859-10',
    'iso-8859-13',
  ],
  ...[
    'iso-8859-14',
    'iso-8859-15',
    'iso-8859-16',
    'koi8-r',
    'koi8-u',
    'macintosh',
    'windows-874',
    'windows-1250',
    'windows-1251',
  ],
  ...[
    'windows-1253',
    'windows-1254',
    'windows-1255',
    'windows-1256',
    'windows-1257',
    'windows-1258',
    'x-mac-cyrillic',
    'gbk',
    'gb2312',
  ],
  ...[
    'gb18030',
    'big5',
    'big5-hkscs',
    'euc-jp',
    'iso-2022-jp',
    'shift_jis',
    'sjis',
    'euc-kr',
    'ks_c_5601-1987',
    'windows-949',
  ],
  ...[
    'utf-16le',
    'utf-16be',
    'utf-16',
    'x-user-defined',
    'replacement',
    'iso-2022-kr',
    'hz-gb-2312',
    'utf-7',
    'nonsense',
    'x-sjis',
  ],
]

/** All bytes from 0x80 on, alone and in pairs with what the double-byte encodings use. */
const BYTES = Buffer.from([
  ...Array.from({ length: 128 }, (_, index) => 0x80 + index).flatMap((byte) => [byte, 0x20]),
  ...Array.from({ length: 94 }, (_, index) => 0xa1 + index).flatMap((byte) => [0xb0, byte, 0xc8, byte, 0xa4, byte]),
])

const around = (head: string, body: Buffer) =>
  Buffer.concat([
    Buffer.from(`<!doctype html><html><head>${head}<title>t</title></head><body><p class=x>`, 'latin1'),
    body,
    Buffer.from('</p><a href="/s?q=', 'latin1'),
    body.subarray(0, 64),
    Buffer.from('&amp;r=1#', 'latin1'),
    body.subarray(0, 16),
    Buffer.from('">l</a></body></html>', 'latin1'),
  ])

export function encodingPages(): Document[] {
  const pages: Document[] = []
  for (const label of LABELS) {
    pages.push(document(`encoding header ${label}`, around('', BYTES), `text/html; charset=${label}`))
    pages.push(document(`encoding meta ${label}`, around(`<meta charset="${label}">`, BYTES)))
  }
  const gbk = Buffer.from([0xd6, 0xd0, 0xce, 0xc4])
  const padding = (bytes: number) => `<!-- ${'x'.repeat(bytes)} -->`
  const metas: Readonly<Record<string, string>> = {
    'http-equiv': '<meta http-equiv="Content-Type" content="text/html; charset=gbk">',
    'http-equiv with quotes': `<meta content='text/html; charset="gbk"' http-equiv=content-type>`,
    'http-equiv without type': '<meta http-equiv="Content-Type" content="charset=gbk">',
    'content only': '<meta content="text/html; charset=gbk">',
    'byte 900': `${padding(850)}<meta charset=gbk>`,
    'byte 1100': `${padding(1050)}<meta charset=gbk>`,
    'byte 5000': `${padding(5000)}<meta charset=gbk>`,
    'byte 5000 in style': `<style>${'x'.repeat(5000)}</style><meta charset=gbk>`,
    'byte 5000 in script': `<script>${'x'.repeat(5000)}</script><meta charset=gbk>`,
    'across 1024': `${padding(975)}<meta charset=gbk>`,
    'in a comment': '<!-- <meta charset=gbk> -->',
    'in a script': '<script>"<meta charset=gbk>"</script>',
    'in a title': '<title><meta charset=gbk></title>',
    'after a script': '<script>var a = 1</script><meta charset=gbk>',
    'utf-16 means utf-8': '<meta charset=utf-16>',
    'x-user-defined means windows-1252': '<meta charset=x-user-defined>',
    'two of them': '<meta charset=gbk><meta charset=big5>',
    'unknown then known': '<meta charset=nonsense><meta charset=gbk>',
    'upper case': '<META CHARSET=GBK>',
    'single quotes': "<meta charset='gbk'>",
    spaces: '<meta   charset = gbk />',
    'in the body': '</head><body><meta charset=gbk>',
    'late in the body': `</head><body>${'y'.repeat(3000)}<meta charset=gbk>`,
    'xml declaration': '',
  }
  for (const [name, head] of Object.entries(metas)) pages.push(document(`encoding ${name}`, around(head, gbk)))
  const start = (text: string) => Buffer.concat([Buffer.from(text, 'latin1'), around('', gbk)])
  pages.push(
    document('encoding xml declaration first', start('<?xml version="1.0" encoding="gbk"?>')),
    document('encoding bom wins over header', Buffer.from('\ufeff<p class=x>é</p>'), 'text/html; charset=gbk'),
    document('encoding bom wins over meta', Buffer.from('\ufeff<meta charset=gbk><p class=x>é</p>')),
    document('encoding utf-16le bom', Buffer.from('\ufeff<p class=x>é</p><a href="/s?q=é">l</a>', 'utf16le')),
    document('encoding utf-16be bom', Buffer.from('\ufeff<p class=x>é</p><a href="/s?q=é">l</a>', 'utf16le').swap16()),
    document('encoding header wins over meta', around('<meta charset=big5>', gbk), 'text/html; charset=gbk'),
    document('encoding quoted header', around('', gbk), 'text/html; charset="gbk"'),
    document('encoding header in single quotes', around('', gbk), "text/html; charset='gbk'"),
    document('encoding header twice', around('', gbk), 'text/html; charset=gbk; charset=big5'),
    document('encoding header with spaces', around('', gbk), 'text/html ; charset = gbk'),
    document('encoding no declaration, utf-8', '<p class=x>é</p><a href="/s?q=é">l</a>'),
    document('encoding no declaration, not utf-8', around('', Buffer.from([0xe9, 0x80, 0x81]))),
    document(
      'encoding xhtml',
      '<html xmlns="http://www.w3.org/1999/xhtml"><body><p class="x">é</p><script src="s"/><a href="a">l</a></body></html>',
      'application/xhtml+xml',
    ),
  )
  return pages
}
