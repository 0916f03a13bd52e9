// Wide tables scroll; the keyboard must be able to do that, too.
const reachable = () => {
  document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code").forEach((each) => {
    each.tabIndex = 0;
  });
  // The copy button of a code block is no landmark of the page.
  document.querySelectorAll(".md-code__nav").forEach((each) => each.setAttribute("role", "none"));
};
reachable();
new MutationObserver(reachable).observe(document.body, { childList: true, subtree: true });
