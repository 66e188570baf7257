/** What a product page says, and the record that a crawl should extract. */
export interface Product {
  readonly number: number
  readonly title: string
  readonly price: number
  readonly sku: string
  readonly stock: number
  readonly path: string
  readonly category: string
}

interface PageParts {
  readonly title: string
  readonly navigation: readonly { readonly href: string; readonly text: string }[]
  readonly main: string
  readonly pager: { readonly previous?: string; readonly next?: string; readonly label: string } | null
}

export function pageHtml({ title, navigation, main, pager }: PageParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} | Shoal Demo Shop</title>
<link rel="sitemap" href="/sitemap.xml">
<style>body{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}nav a{margin-right:.8em}.price{font-weight:bold}</style>
</head>
<body>
<nav>${navigation.map(({ href, text }) => `<a href="${href}">${text}</a>`).join(' ')}</nav>
<main>
${main}
</main>${pager === null ? '' : pagerHtml(pager)}
<footer><a href="/private/admin.html" rel="nofollow">Staff</a> · <a href="/calendar/today">Today</a></footer>
</body>
</html>
`
}

function pagerHtml({ previous, next, label }: NonNullable<PageParts['pager']>): string {
  const back = previous === undefined ? '' : `<a class="previous" href="${previous}">previous</a> `
  const on = next === undefined ? '' : ` <a class="next" href="${next}">next</a>`
  return `\n<p class="pager">${back}${label}${on}</p>`
}

export function productCard(product: Product, href: string): string {
  return `<article class="product"><h3><a href="${href}">${product.title}</a></h3><p class="cost">${pounds(product.price)}</p></article>`
}

export function productBlock(product: Product, text: string, related: readonly string[], basket: string): string {
  return `<p class="crumbs"><a href="/">Home</a> / ${product.category}</p>
<h1>${product.title}</h1>
<p class="price">${pounds(product.price)}</p>
<p>Article <span class="sku">${product.sku}</span>, <span class="stock">${product.stock > 0 ? `${product.stock} in stock` : 'out of stock'}</span></p>
<p><a class="basket" href="${basket}" rel="nofollow">Add to basket</a></p>
<div class="description">${text.replaceAll('&', '&amp;')}</div>
<h2>You may also like</h2>
<section class="related">
${related.join('\n')}
</section>`
}

function pounds(price: number): string {
  return `£${price.toFixed(2)}`
}
