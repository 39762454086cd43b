// Handle: what a user holds and deletes. The object behind it lives as long as anything made from it.
#pragma once

#include <memory>
#include <utility>

namespace tenon::api
{

//! The public class with its pointer set. I is the public class, Impl what implements its slots.
template <typename I, typename Impl>
class Shell : public I
{
  public:
    explicit Shell(Impl* impl) noexcept
    {
        this->mImpl = impl;
    }
    Impl& impl() const noexcept
    {
        return static_cast<Impl&>(*this->mImpl);
    }
};

//! A base of Impl: knows the public object in front of it, so that children can name their parent even after the user
//! has deleted the handle.
template <typename I, typename Impl>
class Fronted
{
  public:
    I& front() const noexcept
    {
        return *mFront;
    }
    static Impl& of(I const& object) noexcept
    {
        return static_cast<Shell<I, Impl> const&>(object).impl();
    }

  protected:
    Fronted() noexcept
        : mShell{static_cast<Impl*>(this)},
          mFront{&mShell}
    {
    }

  private:
    template <typename, typename>
    friend class Handle;
    Shell<I, Impl> mShell;
    I* mFront;
};

template <typename I, typename Impl>
class Handle final : public Shell<I, Impl>
{
  public:
    explicit Handle(std::shared_ptr<Impl> impl) noexcept
        : Shell<I, Impl>{impl.get()},
          mOwned{std::move(impl)}
    {
        static_cast<Fronted<I, Impl>&>(*mOwned).mFront = this;
    }
    ~Handle() override
    {
        Fronted<I, Impl>& fronted = *mOwned;
        fronted.mFront = &fronted.mShell;
    }

  private:
    std::shared_ptr<Impl> mOwned;
};

//! A new object of the API over `impl`; the user deletes it.
template <typename I, typename Impl, typename... Args>
I* makeHandle(Args&&... args)
{
    return new Handle<I, Impl>{std::make_shared<Impl>(std::forward<Args>(args)...)};
}

} // namespace tenon::api
