import { describe, expect, it } from 'vitest'
import { loadPage } from '../../src/spider/html/load-cheerio.js'
import { findPagination } from '../../src/spider/pagination.js'

const HERE = 'https://shop.example/list'
const find = (html: string, url = HERE) => findPagination(loadPage(html, 'text/html', url), { url, encoding: 'UTF-8' })
const list = (path: (n: number) => string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => ({ number: from + n, url: `https://shop.example${path(from + n)}` }))

describe('the number of pages', () => {
  it.each<[string, string, number | null, string?]>([
    [
      'Bootstrap, with an ellipsis',
      '<ul class="pagination"><li class="active"><span>1</span></li><li><a href="?page=2">2</a></li><li><a href="?page=3">3</a></li><li>…</li><li><a href="?page=37">37</a></li><li><a href="?page=2">Next</a></li></ul>',
      37,
    ],
    [
      'WordPress',
      '<nav class="navigation pagination"><span aria-current="page" class="page-numbers current">1</span><a class="page-numbers" href="/list/page/2/">2</a><span class="page-numbers dots">…</span><a class="page-numbers" href="/list/page/12/">12</a><a class="next page-numbers" href="/list/page/2/">Next »</a></nav>',
      12,
    ],
    [
      'WooCommerce',
      '<p class="woocommerce-result-count">Showing 1–16 of 205 results</p><nav class="woocommerce-pagination"><a class="page-numbers" href="/list/page/2/">2</a></nav>',
      13,
    ],
    ['rel=last', '<link rel="next" href="?p=2"><link rel="last" href="?p=9">', 9],
    ['Page 1 of 37', '<div>Page 1 of 37</div><a href="?page=2" rel="next">next</a>', 37],
    ['Seite 3 von 8', '<span>Seite 3 von 8</span>', 8],
    ['Page 2 sur 15', '<p>Page 2 sur 15</p>', 15],
    ['Página 1 de 4', '<p>Página 1 de 4</p>', 4],
    ['Страница 1 из 20', '<p>Страница 1 из 20</p>', 20],
    ['第1页 共37页', '<div>第1页/共37页</div>', 37],
    ['1/37ページ', '<div>1/37ページ</div>', 37],
    ['thousands', '<p>Showing 1 - 50 of 12,345 items</p>', 247],
    ['Ergebnisse 1 bis 24 von 1.003', '<p>Ergebnisse 1 bis 24 von 1.003</p>', 42],
    ['a last page that is shorter does not tell', '<p>Showing 721–734 of 734</p>', null],
    ['numbers that are no pages', '<p>Rated 4 of 5</p><a href="/p/17">17</a>', null],
    ['nothing', '<p>Hello</p>', null],
  ])('%s', (_, html, count) => {
    expect(find(html).count).toBe(count)
  })
})

describe('the next page', () => {
  const next = (href: string) => `https://shop.example${href}`
  it.each<[string, string, string | null]>([
    ['link rel=next', '<link rel="next" href="/list?page=2">', next('/list?page=2')],
    ['a rel=next', '<a rel="nofollow-not next" href="/list?page=2">x</a>', next('/list?page=2')],
    [
      'aria-label',
      '<nav aria-label="Pagination"><a href="/2" aria-label="Next page"><svg></svg></a></nav>',
      next('/2'),
    ],
    [
      'a class',
      '<div class="pager"><a class="prev" href="/0">x</a><a class="btn-next" href="/2">x</a></div>',
      next('/2'),
    ],
    [
      'a class of the item',
      '<ul class="pager"><li class="next"><a href="page-2.html">x</a></li></ul>',
      next('/page-2.html'),
    ],
    [
      'an arrow in a pager',
      '<div class="pagination"><a href="/0">‹</a><a href="/2">›</a><a href="/9">»</a></div>',
      next('/2'),
    ],
    ['a double arrow alone', '<div class="pagination"><a href="/2">»</a></div>', next('/2')],
    ...(
      [
        'Next',
        'Next page →',
        'next ›',
        'Older posts',
        'Load more',
        'Weiter',
        'Nächste Seite',
        'Suivant',
        'Page suivante',
        'Siguiente',
        'Próxima página',
        'Successivo',
        'Avanti',
        'Volgende',
        'Nästa',
        'Następna strona',
        'Další',
        'Sonraki',
        'Следующая',
        'Далее',
        '下一页',
        '次へ',
        '다음',
        'التالي',
        'הבא',
      ] as const
    ).map((word): [string, string, string] => [word, `<p><a href="/2">${word}</a></p>`, next('/2')]),
    ['words that only begin so', '<a href="/2">Next day delivery</a><a href="/3">Nextcloud</a>', null],
    ['a disabled one', '<div class="pagination"><li class="next disabled"><a href="/2">Next</a></li></div>', null],
    ['aria-disabled', '<a aria-disabled="true" href="/2">Next</a>', null],
    ['the page itself', `<a href="${HERE}#top">Next</a><a href="#">Next</a><a href="javascript:go()">Next</a>`, null],
    ['another site', '<a rel="next" href="https://other.example/2">Next</a>', null],
    ['nofollow', '<a rel="next nofollow" href="/2">Next</a>', null],
    ['a base', '<base href="/x/"><a rel="next" href="2">Next</a>', next('/x/2')],
  ])('%s', (_, html, url) => {
    expect(find(html).next).toBe(url)
  })
})

describe('all pages', () => {
  it.each<[string, string, string, ReturnType<typeof list>]>([
    [
      'a query',
      HERE,
      '<div class="pagination"><a href="?page=2">2</a><a href="?page=3">3</a> … <a href="?page=6">6</a></div>',
      list((n) => `/list?page=${n}`, 2, 6),
    ],
    [
      'beside other parameters',
      `${HERE}?q=a`,
      '<link rel="next" href="?q=a&page=2&size=50"><p>Page 1 of 4</p>',
      list((n) => `/list?q=a&page=${n}&size=50`, 2, 4),
    ],
    [
      'a path',
      HERE,
      '<nav class="pagination"><a href="/list/page/2/">2</a><a href="/list/page/5/">5</a></nav>',
      list((n) => `/list/page/${n}/`, 2, 5),
    ],
    [
      'part of a name',
      'https://shop.example/c/index.html',
      '<ul class="pager"><li class="current">Page 1 of 50</li><li class="next"><a href="page-2.html">next</a></li></ul>',
      list((n) => `/c/page-${n}.html`, 2, 50),
    ],
    [
      'an offset',
      HERE,
      '<div class="paging"><a href="?start=20">2</a><a href="?start=40">3</a><a href="?start=80">5</a></div>',
      list((n) => `/list?start=${(n - 1) * 20}`, 2, 5),
    ],
    [
      'from the middle, the first as it is linked',
      `${HERE}?page=3`,
      '<div class="pagination"><a href="/list">1</a><a href="?page=2">2</a><b class="current">3</b><a href="?page=4">4</a></div>',
      [{ number: 1, url: HERE }, ...list((n) => `/list?page=${n}`, 2, 2), ...list((n) => `/list?page=${n}`, 4, 4)],
    ],
    [
      'counted by what is shown',
      HERE,
      '<p>1–10 of 35</p><a rel="next" href="?p=2">more</a>',
      list((n) => `/list?p=${n}`, 2, 4),
    ],
  ])('%s', (_, url, html, pages) => {
    expect(find(html, url).pages).toEqual(pages)
  })

  it('leaves URLs that do not follow from their number as they are', () => {
    const html = '<p>Page 1 of 9</p><a rel="next" href="?after=b3f">Next</a>'
    expect(find(html).pages).toEqual([{ url: `${HERE}?after=b3f`, number: null }])
    const odd = '<div class="pagination"><a href="/a17">2</a><a href="/b3">3</a></div>'
    expect(find(odd).pages.map(({ url }) => url)).toEqual(['https://shop.example/a17', 'https://shop.example/b3'])
  })

  it('does not take the number of a product for that of a page', () => {
    const html = '<p>Page 1 of 3</p><a rel="next" href="/list/2041?cursor=2">Next</a>'
    expect(find(html).pages.length).toBe(1)
  })

  it('never writes out more than a hundred thousand', () => {
    expect(find('<p>Page 1 of 99,999,999</p><a rel="next" href="?page=2">x</a>').pages.length).toBeLessThan(100_001)
  })
})

it('takes time in proportion to the page, however deep that is nested', () => {
  const deep = `${'<div><a href="/x">'.repeat(20_000)}<p>Page 1 of 3</p>`
  expect(find(deep).count).toBe(3)
})
