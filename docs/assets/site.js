// Wide tables scroll; the keyboard must be able to do that, too.
const reachable = () =>
  document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code").forEach((each) => {
    each.tabIndex = 0;
  });
reachable();
new MutationObserver(reachable).observe(document.body, { childList: true, subtree: true });
