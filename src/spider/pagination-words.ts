/** The words of pagers. Whole labels only: 'Next day delivery' is not a next page. */

const NEXT = [
  'next( page| results?| posts| set)?',
  'older( posts| entries| articles)?',
  '(load|show|see|view) more( results| items| products)?',
  'more results',
  '(go to )?next page.*',
  'nächste(r)?( seite)?|weiter|vorwärts|zur nächsten seite|ältere beiträge',
  '(page )?suivante?|page suivante|articles plus anciens',
  '(página )?siguiente|siguientes|página siguiente',
  '(página )?(próxima|seguinte)( página)?|próximo|avançar',
  'avanti|(pagina )?(successiva|successivo|seguente)|prossima( pagina)?',
  'volgende( pagina)?',
  'nästa( sida)?|neste( side)?|næste( side)?|seuraava( sivu)?',
  'następna( strona)?|następny|dalej',
  'další( stránka| strana)?|ďalšia?( strana)?|következő( oldal)?|următoarea?( pagină)?|următorul',
  'sonraki( sayfa)?|επόμενη( σελίδα)?|επόμενο',
  'следующая( страница)?|следующие|далее|вперёд|вперед|наступна( сторінка)?|далі|следваща( страница)?',
  '下一页|下一頁|下页|下一個|次へ|次のページ|次|다음( 페이지)?',
  'التالي(ة)?|الصفحة التالية|הבא|לעמוד הבא|अगला( पृष्ठ)?|ถัดไป|หน้าถัดไป|(trang )?(sau|tiếp( theo)?)|berikutnya|selanjutnya',
].join('|')

const LAST = [
  'last( page)?',
  '(go to )?last page.*',
  'letzte( seite)?|ende',
  'dernière( page)?|dernier',
  'última( página)?|último|ultima( pagina)?|ultimo',
  'laatste( pagina)?|sista( sidan)?|siste( side)?|sidste( side)?|viimeinen( sivu)?',
  'ostatnia( strona)?|poslední( stránka| strana)?|utolsó( oldal)?|son( sayfa)?',
  'последняя( страница)?|в конец|остання( сторінка)?',
  '末页|尾页|最後|最後のページ|最終ページ|마지막( 페이지)?',
].join('|')

const NEXT_LABEL = new RegExp(`^[\\s‹«<←]*(?:${NEXT})[\\s.…›»→>▶❯]*$`, 'iu')
const LAST_LABEL = new RegExp(`^(?:${LAST})[\\s›»→>|]*$`, 'iu')

export function isNextLabel(label: string): boolean {
  return label.length <= 60 && NEXT_LABEL.test(label)
}

export function isLastLabel(label: string): boolean {
  return label.length <= 60 && LAST_LABEL.test(label)
}

/** Longer texts do not count pages. The expressions below try many ways to read a text, so this is also what keeps them fast. */
export const LABEL_CHARS = 120

const NUMBER = "(\\d{1,3}(?:[.,\\u00a0\\u202f\\u2009' ]\\d{3})+|\\d{1,9})"
const PAGE =
  '(?:page|pages|seite|página|pagina|pág\\.?|pag\\.?|strona|stránka|strana|sida|side|sivu|sayfa|страница|стр\\.?|сторінка|σελίδα|trang|halaman)'
const OF = '(?:of|von|sur|de|di|van|z|av|af|\\/|из|з|από|din|total)'
const PAGE_OF = [
  new RegExp(`(?:^|\\b|\\s)${PAGE}\\s*:?\\s*${NUMBER}\\s*${OF}\\s*${NUMBER}`, 'iu'),
  new RegExp(
    `^\\s*${NUMBER}\\s*${OF}\\s*${NUMBER}\\s*(?:pages|seiten|páginas|pagine|pagina's|stron|страниц)\\s*$`,
    'imu',
  ),
  new RegExp(`第\\s*${NUMBER}\\s*[页頁].{0,6}[共\\/].{0,2}?${NUMBER}\\s*[页頁]`, 'u'),
  new RegExp(`${NUMBER}\\s*\\/\\s*${NUMBER}\\s*(?:ページ|페이지|页|頁)`, 'u'),
]

/** 'Page 1 of 37' in any of these languages, in the first of these texts that says so. */
export function pageOfText(texts: readonly string[]): { readonly current: number; readonly count: number } | null {
  for (const form of PAGE_OF) {
    for (const text of texts) {
      const [, current, count] = inLabel(form, text)
      const stated = { current: plain(current), count: plain(count) }
      if (stated.current >= 1 && stated.count >= stated.current) return stated
    }
  }
  return null
}

function inLabel(form: RegExp, text: string): readonly string[] {
  return (text.length <= LABEL_CHARS ? form.exec(text) : null) ?? []
}

const TO = '(?:-|–|—|to|bis|à|a|al|até|tot|do|до|through|~|〜)'
const SHOWN = new RegExp(
  `(?:^|\\s|\\()${NUMBER}\\s*${TO}\\s*${NUMBER}\\s*(?:results?|items?|products?|ergebnissen?|produkte)?\\s*(?:out of|${OF})\\s*(?:about|over|approximately|etwa|environ)?\\s*${NUMBER}`,
  'iu',
)

/** 'Showing 1–20 of 734 results': which of how many are on this page. */
export function shownOfText(
  texts: readonly string[],
): { readonly from: number; readonly to: number; readonly total: number } | null {
  for (const text of texts) {
    const [, from, to, total] = inLabel(SHOWN, text)
    const shown = { from: plain(from), to: plain(to), total: plain(total) }
    if (shown.from >= 1 && shown.to >= shown.from && shown.total >= shown.to) return shown
  }
  return null
}

function plain(digits: string | undefined): number {
  return Number((digits ?? '').replace(/\D/g, '') || Number.NaN)
}
