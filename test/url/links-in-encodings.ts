/** A text, and the query that Chromium makes of it in a link on a page in the encoding; `like-chromium.test.ts` asks Chromium for every one of them. */
export const LINKS_IN_ENCODINGS: readonly {
  readonly encoding: string
  readonly text: string
  readonly query: string
}[] = [
  { encoding: 'EUC-KR', text: '검색 한글 뷁 €', query: '%B0%CB%BB%F6%20%C7%D1%B1%DB%20%94%EE%20%A2%E6' },
  { encoding: 'Big5', text: '搜尋 中文 € 表', query: '%B7j%B4M%20%A4%A4%A4%E5%20%A3%E1%20%AA%ED' },
  { encoding: 'GBK', text: '搜索 中文 € 𠀀', query: '%CB%D1%CB%F7%20%D6%D0%CE%C4%20%80%20%26%23131072%3B' },
  { encoding: 'gb18030', text: '搜索 € 𠀀 é', query: '%CB%D1%CB%F7%20%A2%E3%20%952%826%20%A8%A6' },
  {
    encoding: 'Shift_JIS',
    text: '検索 表 ソ ﾃｽﾄ €',
    query: '%8C%9F%8D%F5%20%95\\%20%83\\%20%C3%BD%C4%20%26%238364%3B',
  },
  {
    encoding: 'EUC-JP',
    text: '検索 日本 ﾃｽﾄ €',
    query: '%B8%A1%BA%F7%20%C6%FC%CB%DC%20%8E%C3%8E%BD%8E%C4%20%26%238364%3B',
  },
  {
    encoding: 'ISO-2022-JP',
    text: '検索a日本¥b ﾃｽﾄ €',
    query: '%1B$B8!:w%1B(Ba%1B$BF|K\\%1B(J\\b%20%1B$B%F%9%H%1B(B%20%26%238364%3B',
  },
  { encoding: 'windows-1251', text: 'поиск є €', query: '%EF%EE%E8%F1%EA%20%BA%20%88' },
  { encoding: 'KOI8-U', text: 'пошук їжак €', query: '%D0%CF%DB%D5%CB%20%A7%D6%C1%CB%20%26%238364%3B' },
  { encoding: 'ISO-8859-2', text: 'žluťoučký €', query: '%BElu%BBou%E8k%FD%20%26%238364%3B' },
  { encoding: 'ISO-8859-16', text: 'țară €', query: '%FEar%E3%20%A4' },
  { encoding: 'windows-1252', text: 'café € ж', query: 'caf%E9%20%80%20%26%231078%3B' },
  { encoding: 'windows-1255', text: 'שלום ₪', query: '%F9%EC%E5%ED%20%A4' },
  { encoding: 'x-user-defined', text: 'é\uf7e9', query: '%26%23233%3B%E9' },
]
